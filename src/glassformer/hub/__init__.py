"""To and from other engines and formats. Nothing here loads torch before it must."""
