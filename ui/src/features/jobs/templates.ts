/* Job templates, one for each payload kind. */

import type { JobForm } from "@/features/jobs/form/jobForm";

export const templateIds = ["reminder", "page", "brief"] as const;
export type TemplateId = (typeof templateIds)[number];

export interface Template {
  title: string;
  about: string;
  form: Partial<JobForm>;
}

export const templates: Record<TemplateId, Template> = {
  reminder: {
    title: "Reminder",
    about: "Reminds you at times you choose. No model, no cost.",
    form: {
      name: "Stretch",
      what: "systemEvent",
      text: "Stand up and stretch for a minute.",
      when: "days",
      expr: "30 10,15 * * 1-5",
    },
  },
  page: {
    title: "Check a page",
    about: "Fetches a URL every hour and notifies you when the response changes or fails. No model, no cost.",
    form: {
      name: "Is the site up",
      what: "toolCall",
      tool: "http",
      arguments: { url: "https://example.com/" },
      notifyWhen: "changed",
      when: "every",
      every: 1,
      everyUnit: "hour",
    },
  },
  brief: {
    title: "Morning brief",
    about: "An agent reads your notes on weekday mornings and reports what matters today.",
    form: {
      name: "Morning brief",
      what: "agentTurn",
      when: "days",
      expr: "30 7 * * 1-5",
      toolChoice: "some",
      tools: ["list_dir", "read_file", "time"],
      message:
        "Look through the notes in the workspace. Tell me in at most five lines what is due today and what was left open yesterday. If nothing is due, say so in one line.",
    },
  },
};
