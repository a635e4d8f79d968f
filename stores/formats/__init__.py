"""Files of other programs (character cards, lorebooks, chats), read within bounds and written; and bundles of roles."""
