"""The colours of states: a variable of JupyterLab's theme, and what stands for it without one."""

from __future__ import annotations

GOOD, BUSY = ("success-color1", "#388e3c"), ("brand-color1", "#1976d2")
WARN, BAD = ("warn-color1", "#f57c00"), ("error-color1", "#d32f2f")
NEUTRAL = ("ui-font-color3", "#8a8a8a")
WAITING = ("border-color1", "#bdbdbd")

STATES = {
    "Complete": GOOD,
    "Failed": BAD,
    "Stopped": WARN,
    "Deleted": WARN,
    "Running": BUSY,
    "Pending": WAITING,
    "In Queue": WAITING,
}
"""The states of the job service in the order of the bar; unknown ones stand before those that wait.

Source: job service contract, States and transitions.
"""
