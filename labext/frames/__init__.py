"""DataFrames of records: column types, conversion and display."""
