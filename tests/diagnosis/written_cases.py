"""Folders of label maps and probabilities as a user has them, for a diagnosis."""

import numpy as np
from PIL import Image
from probability_maps.saved_cases import drawn, sharpened


def write_cases(folder, *, count=6, shape=(24, 20), classes=3, temperature=1.0, form="npy"):
    """``pred``, ``true`` and ``probs`` below a folder; the probabilities are right at this temperature."""
    places = [folder / name for name in ("pred", "true", "probs")]
    for place in places:
        place.mkdir(parents=True)
    for number in range(count):
        p, target = drawn(shape, classes=classes, seed=number)
        p = sharpened(p, temperature)
        Image.fromarray(p.argmax(0).astype(np.uint8)).save(places[0] / f"c{number}.png")
        Image.fromarray(target).save(places[1] / f"c{number}.png")
        if form == "npy":
            np.save(places[2] / f"c{number}.npy", p)
        else:  # nnU-Net's, of pictures
            np.savez_compressed(places[2] / f"c{number}.npz", probabilities=p[:, None])
    return places
