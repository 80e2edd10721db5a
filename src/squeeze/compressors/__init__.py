"""The methods, one file each; the file name is the registry name."""
