"""What a notebook service may have beyond the contract: Open Notebook has it, others may not.

A method that the service has nothing for is an InputError, which says what to do in its place.
"""
