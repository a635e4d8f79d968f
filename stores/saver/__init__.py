"""The saver of conversations: one sqlite file, in which nothing acknowledged is lost."""
