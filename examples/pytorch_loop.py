#!/usr/bin/env python3
"""A PyTorch training loop that does not use Headroom: a small classifier with a slow augmentation in its loader.

    headroom record -o loop.pftrace -- python3 examples/pytorch_loop.py [STEPS]
    headroom report loop.pftrace

The report shows that the loop waits for its loader, and how long it waits for each batch.
"""
import sys
import time

import torch

BATCH = 32


class Images(torch.utils.data.Dataset):
    """Random images, with an augmentation that takes half a millisecond per image."""

    def __init__(self, samples):
        self.samples = samples

    def __len__(self):
        return self.samples

    def __getitem__(self, index):
        time.sleep(0.0005)
        return torch.rand(3, 16, 16), index % 10


def main(steps):
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 16 * 16, 10)
    )
    optimizer = torch.optim.Adam(model.parameters())
    loss_of = torch.nn.CrossEntropyLoss()
    loader = torch.utils.data.DataLoader(Images(steps * BATCH), batch_size=BATCH)
    for images, labels in loader:
        optimizer.zero_grad()
        loss = loss_of(model(images), labels)
        loss.backward()
        optimizer.step()
    print(f"{steps} steps, loss {loss.item():.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
