"""Objects for people: Events and Hotfixes, copies of what is known. Nothing rests on them."""
