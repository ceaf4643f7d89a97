"""Made-up students, whose submissions tests, benchmarks and the demonstration grade."""
