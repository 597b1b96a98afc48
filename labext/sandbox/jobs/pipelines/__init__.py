"""Pipelines: sequences of stages that pass their outputs on."""
