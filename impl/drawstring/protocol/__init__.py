"""The commit protocol, written once, as plain synchronous code over the ports."""
