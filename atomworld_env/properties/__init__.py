"""Properties of crystals behind one interface: a value with its unit, or the reason why there is none."""
