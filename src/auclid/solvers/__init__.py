"""One file a way to minimise. A solver sees rows and numbers, and knows no estimator."""
