"""The commands of `fairlead hotfix`: one file each, or one for those that are two lines long."""
