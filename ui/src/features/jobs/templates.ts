/* Jobs to begin with: one of each kind, whole enough to be saved after a look. */

import type { JobForm } from "./form";

export const templateIds = ["reminder", "page", "brief"] as const;
export type TemplateId = (typeof templateIds)[number];

export interface Template {
  title: string;
  about: string;
  form: Partial<JobForm>;
}

export const templates: Record<TemplateId, Template> = {
  reminder: {
    title: "A reminder",
    about: "Says something at a time you choose. No model, no cost.",
    form: { name: "Stretch", what: "systemEvent", text: "Stand up and stretch for a minute.", when: "days", expr: "30 10,15 * * 1-5" },
  },
  page: {
    title: "Check a page",
    about: "Looks at an address every hour and tells you when its answer changes or fails. No model, no cost.",
    form: {
      name: "Is the site up", what: "toolCall", tool: "http", arguments: { url: "https://example.com/" }, notifyWhen: "changed",
      when: "every", every: 1, everyUnit: "hour",
    },
  },
  brief: {
    title: "A morning brief",
    about: "A model reads your notes on weekday mornings and tells you what matters today.",
    form: {
      name: "Morning brief", what: "agentTurn", when: "days", expr: "30 7 * * 1-5", toolChoice: "some", tools: ["list_dir", "read_file", "time"],
      message: "Look through the notes in the workspace. Tell me in at most five lines what is due today and what was left open yesterday. If nothing is due, say so in one line.",
    },
  },
};
