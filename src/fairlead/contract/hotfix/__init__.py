"""Documents about fixes: the pointer, what a service answers, what a boot report says of a fix."""
