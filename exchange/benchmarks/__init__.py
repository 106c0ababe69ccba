"""Result files of benchmark tools: read without their texts, and laid over the run whose minutes they share."""
