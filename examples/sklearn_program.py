#!/usr/bin/env python3
"""A scikit-learn program. Headroom has no hooks for this library, so the program marks its own regions.

    export PYTHONPATH="$PWD/build/release/python"        # or pip install .
    headroom record -o sklearn.pftrace -- python3 examples/sklearn_program.py
    headroom report sklearn.pftrace

The recording shows how long each phase takes and how busy the machine is, but not the work inside fit().
"""
import numpy as np
from sklearn.neural_network import MLPClassifier

import headroom


def main():
    random = np.random.default_rng(0)
    classifier = MLPClassifier(hidden_layer_sizes=(64,), random_state=0)
    for epoch in range(10):
        with headroom.step(epoch):
            with headroom.scope("IO"):
                samples = random.normal(size=(2000, 32))
                labels = (samples[:, 0] * samples[:, 1] > 0).astype(int)
            with headroom.scope("fit"):
                classifier.partial_fit(samples, labels, classes=[0, 1])
            with headroom.scope("score"):
                score = classifier.score(samples, labels)
    fit = headroom.stats("fit")
    print(f"accuracy {score:.2f}; fit: {fit.count} times, {1e3 * fit.mean_s:.1f} ms each")


if __name__ == "__main__":
    main()
