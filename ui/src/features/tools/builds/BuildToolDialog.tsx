/* Starts a run that builds a tool or changes a built tool, and shows the run. */

import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";

import { Button } from "@/components/Button";
import { Select, TextArea } from "@/components/Field";
import { Modal } from "@/components/Modal";
import { useBuildTool, useToolBuilds } from "@/data/toolBuilds";
import { groupBuilds } from "@/domain/toolBuilds";
import { ActionError } from "@/features/tools/servers/DialogParts";
import { firstLine, toSentence } from "@/format/text";
import { showOneLine } from "@/format/visible";
import { fieldErrors } from "@/platform";

import styles from "./Builds.module.css";

interface Props {
  /** Built tool to change. */
  tool?: string;
  onClose: () => void;
}

/** Choice of a new tool; a name of a tool is never empty. */
const newTool = "";

export function BuildToolDialog({ tool: proposed, onClose }: Props) {
  const navigate = useNavigate();
  const builds = useToolBuilds().data ?? [];
  const build = useBuildTool();
  const [task, setTask] = useState("");
  const [tool, setTool] = useState(proposed ?? newTool);
  const formId = useId();
  const isChange = tool !== newTool;
  const wrong = fieldErrors(build.error);
  const errorOf = (path: string) => {
    const found = wrong.find((one) => one.path === path);
    return found && toSentence(found.message);
  };
  const isPlaced = wrong.some(({ path }) => path === "task" || path === "tool");
  const start = () => {
    if (build.isPending || task.trim() === "") return;
    build.mutate(
      { task, ...(isChange && { tool }) },
      {
        onSuccess: ({ runId }) => {
          onClose();
          void navigate({ to: "/runs/$runId", params: { runId } });
        },
      },
    );
  };
  return (
    <Modal
      isOpen
      onClose={onClose}
      title={isChange ? `Change ${tool}` : "Build a tool"}
      wide
      footer={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button
            look="primary"
            type="submit"
            form={formId}
            isPending={build.isPending}
            isDisabled={task.trim() === ""}
          >
            Start
          </Button>
        </>
      }
    >
      <form
        id={formId}
        aria-label="Tool to build"
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          start();
        }}
      >
        <TextArea
          autoFocus
          rows={5}
          label={isChange ? "What should change?" : "What should the tool do?"}
          value={task}
          onChange={(text) => {
            setTask(text);
            build.reset();
          }}
          error={errorOf("task")}
          placeholder={isChange ? exampleChange : exampleTask}
          help="An agent writes the tool, tests it without a network, and asks you before it is installed."
        />
        {builds.length > 0 && (
          <Select
            label="Change an existing tool"
            choices={[
              { id: newTool, label: "No, build a new tool" },
              ...groupBuilds(builds).map(({ name, description }) => ({
                id: name,
                label: name,
                ...(description !== null && { about: showOneLine(firstLine(description)) }),
              })),
            ]}
            value={tool}
            onChange={(id) => {
              setTool(id);
              build.reset();
            }}
            error={errorOf("tool")}
          />
        )}
        {build.error && !isPlaced && <ActionError error={build.error} />}
      </form>
    </Modal>
  );
}

const exampleTask = "Tell the exchange rate of two currencies on a day, from the free API of frankfurter.dev.";
const exampleChange = "Also answer the rate of the day before, and the change in percent.";
