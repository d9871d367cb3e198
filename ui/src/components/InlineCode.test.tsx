import { render } from "@testing-library/react";
import { expect, test } from "vitest";

import { Warning } from "./Field";
import { InlineCode } from "./InlineCode";

test.each([
  [
    "`notes.md` is no file, so `read_file` fails.",
    "<code>notes.md</code> is no file, so <code>read_file</code> fails.",
  ],
  ["No name at all.", "No name at all."],
  ["One ` alone.", "One ` alone."],
  ["found `<b>`", "found <code>&lt;b&gt;</code>"],
  ["found `a⟨U+200B⟩`", 'found <code>a<mark class="mark">⟨U+200B⟩</mark></code>'],
])("%j reads as %j", (text, html) => {
  const { container } = render(
    <p>
      <InlineCode text={text} />
    </p>,
  );
  expect(container.querySelector("p")?.innerHTML).toBe(html);
});

test("warning shows names as code", () => {
  const { container } = render(<Warning>`http` is not there.</Warning>);
  expect(container).toHaveTextContent("http is not there.");
  expect(container.querySelector("code")).toHaveTextContent("http");
});
