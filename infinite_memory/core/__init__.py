"""What all else stands on: values, protocols, configuration, errors, time, files, measures."""
