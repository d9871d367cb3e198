import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, test, vi } from "vitest";

import { Code, pretty } from "./Code";

test("invisible characters show code points and copy unchanged", async () => {
  const onCopy = vi.fn(() => Promise.resolve());
  const text = pretty({ path: "a\u202etxt.exe", note: "x\u200by\r\u001b[2K\u009b⟨U+200B⟩" });
  render(<Code label="Arguments" text={text} onCopy={onCopy} isDecision unfolded />);
  const shown = screen.getByRole("region", { name: "Arguments" });
  expect(shown).toHaveTextContent('"path": "a⟨U+202E⟩txt.exe"');
  expect(shown).toHaveTextContent('"note": "x⟨U+200B⟩y\\r\\u001b[2K⟨U+009B⟩⟨U+27E8⟩U+200B⟩"');
  expect([...shown.querySelectorAll("mark")].map((mark) => mark.textContent)).toEqual([
    "⟨U+202E⟩",
    "⟨U+200B⟩",
    "⟨U+009B⟩",
    "⟨U+27E8⟩",
  ]);
  expect(screen.getByText(/^4 invisible characters/)).toBeInTheDocument();
  await userEvent.click(screen.getByRole("button", { name: "Copy arguments" }));
  expect(onCopy).toHaveBeenCalledWith(text);
});

test("approval text is never cut", () => {
  const text = Array.from({ length: 3_000 }, (_, i) => `line ${i}\r`).join("\n");
  render(<Code label="Arguments" text={text} isDecision unfolded />);
  expect(screen.getByRole("region", { name: "Arguments" }).textContent).toBe(text.replaceAll("\r", "⟨U+000D⟩"));
});

test("marks of the engine stay unchanged in results", () => {
  render(<Code label="Result" text={"a⟨U+001B⟩b\r\u2066c"} />);
  expect(screen.getByRole("region", { name: "Result" })).toHaveTextContent("a⟨U+001B⟩b⟨U+000D⟩⟨U+2066⟩c");
  expect(screen.queryByText(/invisible character/)).not.toBeInTheDocument();
});
