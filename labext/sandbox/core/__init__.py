"""Infrastructure shared by the services of the sandbox: storage, queue, executors and web base."""
