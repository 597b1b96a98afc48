"""Progress bars for jobs, batches, sources, podcasts and transfers."""
