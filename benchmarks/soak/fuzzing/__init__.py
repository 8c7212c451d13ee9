"""The parts of the fuzzer: what is sent, how it is spoken, and what the answers must be."""
