"""Run computational-biology tools as queued jobs; the rules of the service are in RULES.md."""
