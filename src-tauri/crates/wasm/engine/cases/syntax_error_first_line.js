export default function (args) { return args +; }
