"""Our losses in other libraries, by their conventions. Each library is imported only when it is used."""
