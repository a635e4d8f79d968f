"""Text that is split: by headings, by sentences, by length."""
