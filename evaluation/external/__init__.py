"""Methods of other packages. The files beside this one run in the Python of such a package, which lacks Dramaturg."""
