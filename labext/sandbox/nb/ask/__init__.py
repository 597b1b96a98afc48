"""Answers to questions, with citations of passages."""
