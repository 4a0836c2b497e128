"""The numbers of the paper, for comparison with ours."""

TABLE_1 = {
    "train": (100_000, 4.5, 5.3, 11.3, 52.2),
    "validate": (5_000, 5.1, 6.8, 13.0, 75.7),
    "test_easy": (5_000, 5.2, 6.9, 13.1, 81.0),
    "test_hard": (5_000, 5.8, 17.4, 31.5, 184.4),
    "test_big": (5_000, 8.0, 20.9, 38.7, 3310.8),
    "test_massive": (2_230, 18.4, 49.4, 88.8, 848_570.0),
    "test_exam": (100, 2.4, 3.9, 8.6, 5.8),
}
"""Size, mean variables of a pair, mean operators and length of a formula, mean 2^variables.

For massive and exam, operators and length are evidently those of both formulas together.
"""
SPLITS = tuple(name for name in TABLE_1 if name != "train")
BOTH_FORMULAS = {"test_massive", "test_exam"}

TABLE_2: dict[str, dict[str, float]] = {
    name: dict(zip(SPLITS, accuracies, strict=True))
    for name, accuracies in {
        "linear-bow": (52.6, 51.4, 50.0, 49.7, 50.0, 52.0),
        "mlp-bow": (57.8, 57.1, 51.0, 55.8, 49.9, 56.0),
        "transformer": (57.1, 56.8, 50.8, 51.2, 50.3, 46.9),
        "convnet": (59.3, 59.7, 52.6, 54.9, 50.4, 54.0),
        "lstm": (68.3, 68.3, 58.1, 61.1, 52.7, 70.0),
        "bilstm": (66.6, 65.8, 58.2, 61.5, 51.6, 78.0),
        "treenet": (72.7, 72.2, 69.7, 67.9, 56.6, 85.0),
        "treelstm": (79.1, 77.8, 74.2, 74.2, 59.3, 75.0),
        "lstm-traversal": (62.5, 61.8, 56.2, 57.3, 50.6, 61.0),
        "bilstm-traversal": (63.3, 64.0, 55.0, 57.9, 50.5, 66.0),
        "possibleworldnet": (98.7, 98.6, 96.7, 93.9, 73.4, 96.0),
    }.items()
}
"""Accuracy in percent on each split but train, by the name of the network."""

FeatureLine = tuple[float, float, float, int, float, float, float, int]

TABLE_3: dict[str, FeatureLine] = {
    "length": (6.62, 6.45, 70.6, 9, 8.33, 8.28, 304.9, 16),
    "num(~)": (1.47, 1.33, 309.4, 8, 1.77, 1.91, 139.0, 9),
    "num(&)": (1.52, 1.33, 308.6, 8, 1.70, 1.94, 134.0, 11),
    "num(|)": (1.30, 1.40, 86.9, 8, 1.95, 1.69, 127.0, 10),
    "num_at(0,~)": (0.31, 0.22, 532.4, 1, 0.18, 0.30, 350.9, 1),
    "num_at(1,~)": (0.32, 0.31, 7.5, 2, 0.39, 0.41, 3.2, 2),
    "num_at(2,~)": (0.31, 0.31, 8.8, 4, 0.56, 0.54, 5.3, 4),
    "num_at(0,&)": (0.35, 0.2, 1382.9, 1, 0.13, 0.33, 1076.4, 1),
    "num_at(1,&)": (0.32, 0.31, 36.5, 2, 0.39, 0.40, 6.5, 2),
    "num_at(2,&)": (0.31, 0.32, 3.2, 4, 0.56, 0.53, 16.5, 4),
    "num_at(0,|)": (0.16, 0.28, 1070.3, 1, 0.34, 0.16, 752.4, 1),
    "num_at(1,|)": (0.30, 0.32, 66.0, 2, 0.42, 0.34, 141.1, 2),
    "num_at(2,|)": (0.32, 0.31, 12.9, 4, 0.57, 0.52, 39.7, 4),
    "#sat": (3.7, 10.3, 11265, 174, 22.1, 11.7, 3702.8, 241),
}
"""The naive method, 50,000 rows: A+, A-, chi-squared, degrees of freedom, then the same for B."""

TABLE_4: dict[str, FeatureLine] = {
    "length": (6.33, 6.33, 0.0, 9, 6.38, 6.38, 0.0, 16),
    "num(~)": (1.42, 1.42, 0.0, 9, 1.26, 1.26, 0.0, 8),
    "num(&)": (1.63, 1.63, 0.0, 7, 1.16, 1.16, 0.0, 7),
    "num(|)": (1.14, 1.14, 0.0, 7, 1.53, 1.53, 0.0, 8),
    "num_at(0,~)": (0.33, 0.33, 0.0, 1, 0.16, 0.16, 0.0, 1),
    "num_at(1,~)": (0.29, 0.29, 0.0, 2, 0.32, 0.32, 0.0, 2),
    "num_at(2,~)": (0.30, 0.30, 0.0, 3, 0.31, 0.31, 0.0, 4),
    "num_at(0,&)": (0.49, 0.49, 0.0, 1, 0.1, 0.1, 0.0, 1),
    "num_at(1,&)": (0.34, 0.34, 0.0, 2, 0.31, 0.31, 0.0, 2),
    "num_at(2,&)": (0.30, 0.30, 0.0, 4, 0.30, 0.30, 0.0, 4),
    "num_at(0,|)": (0.08, 0.08, 0.0, 1, 0.39, 0.39, 0.0, 1),
    "num_at(1,|)": (0.27, 0.27, 0.0, 2, 0.35, 0.35, 0.0, 2),
    "num_at(2,|)": (0.29, 0.29, 0.0, 3, 0.29, 0.29, 0.0, 3),
    "#sat": (3.86, 3.86, 0.0, 86, 14.42, 14.42, 0.0, 157),
}
"""The preferred method, 50,000 rows."""

NEW_VARIABLES_IN_B = {"naive": (0.80, 1.39, 3308.1, 8), "fourtuples": (1.25, 1.60, 922.1, 8)}
"""Mean number of variables of B that A lacks, for positives and negatives; chi-squared, df."""

SAMPLING_ON_HARD = {32: 0.759, 64: 0.865, 128: 0.934, 256: 0.972}
"""The chance of finding a countermodel among this many random rows of the truth table."""

PERMUTATION_GAIN = {
    "convnet": (2, 3),
    "bilstm": (2, 3),
    "bilstm-traversal": (2, 3),
    "treenet": (7, 15),
    "treelstm": (7, 15),
}
"""The gain in accuracy by symbol permutation in percentage points, from and to (section 5)."""

WORLDS = (1, 4, 16, 32, 64, 128, 256)
"""The numbers of worlds that section 5 compares."""
