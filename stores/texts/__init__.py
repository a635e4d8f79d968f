"""Texts that people have: novels, plays, chat exports, diaries, pages; read into who says what, where and when."""
