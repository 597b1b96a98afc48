"""Infrastructure shared by the sandbox's services: storage, queue, web base and host."""
