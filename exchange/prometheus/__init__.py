"""What a Prometheus-compatible server holds (Prometheus, VictoriaMetrics, Thanos, Mimir), imported as sealed hours."""
