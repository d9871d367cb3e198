const run = ({ value = "none" }) => value;
