// Users of the workbench have seeded numbers without naming them.
@_exported public import SeededNumbers
