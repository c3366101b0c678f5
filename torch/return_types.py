"""The named tuples that operators with several results return; each appears here when its operator is first used."""
