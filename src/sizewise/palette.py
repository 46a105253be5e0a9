"""The colours of plots, in one order everywhere: Okabe and Ito's, which colour-blind readers can tell apart."""

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
