"""Plots of batches, tables and result files."""

from labext_widgets.plots.columns import job_table
from labext_widgets.plots.plot import OpenJob, Plot, job_plot, table_plot

__all__ = ["OpenJob", "Plot", "job_plot", "job_table", "table_plot"]
