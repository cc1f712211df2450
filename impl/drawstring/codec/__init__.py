"""Binary encodings that the timeline uses."""
