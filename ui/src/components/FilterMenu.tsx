/* Filter of a list: a button with the current value and a menu of choices, searchable when long. */

import { ChevronDown, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import {
  Autocomplete,
  Button,
  Dialog,
  DialogTrigger,
  Input,
  ListBox,
  ListBoxItem,
  Popover,
  SearchField,
  type Selection,
  Text,
  useFilter,
} from "react-aria-components";

import { cx } from "./cx";
import styles from "./FilterMenu.module.css";

export interface FilterChoice<Id extends string> {
  id: Id;
  label: string;
  icon?: ReactNode;
}

interface Props<Id extends string> {
  label: string;
  choices: readonly FilterChoice<Id>[];
  value: readonly Id[];
  onChange: (ids: Id[]) => void;
  /** Allows multiple choices. */
  several?: boolean;
}

const searchableFrom = 12;

export function FilterMenu<Id extends string>({ label, choices, value, onChange, several }: Props<Id>) {
  const { contains } = useFilter({ sensitivity: "base" });
  const chosen = choices.filter((choice) => value.includes(choice.id));
  const summary = summaryOf(
    chosen.map((choice) => choice.label),
    value.length,
  );
  const [isOpen, setOpen] = useState(false);
  const change = (selection: Selection) => {
    onChange(choices.map((c) => c.id).filter((id) => selection === "all" || selection.has(id)));
    // A single choice is complete.
    if (!several) setOpen(false);
  };
  const list = (
    <ListBox
      aria-label={label}
      items={choices}
      selectionMode={several ? "multiple" : "single"}
      selectedKeys={value}
      onSelectionChange={change}
      escapeKeyBehavior="none"
      className={styles.choices}
      renderEmptyState={() => <p className={styles.none}>Nothing found</p>}
    >
      {(choice) => (
        <ListBoxItem id={choice.id} textValue={choice.label} className={styles.choice}>
          {choice.icon}
          <Text slot="label" className={styles.text}>
            {choice.label}
          </Text>
        </ListBoxItem>
      )}
    </ListBox>
  );
  return (
    <div className={cx(styles.filter, summary !== undefined && styles.on)}>
      <DialogTrigger isOpen={isOpen} onOpenChange={setOpen}>
        <Button className={styles.pill}>
          {summary === undefined ? label : `${label}: ${summary}`}
          {summary === undefined && <ChevronDown size={13} aria-hidden />}
        </Button>
        <Popover className={styles.popover} placement="bottom start" offset={4}>
          <Dialog aria-label={label} className={styles.dialog}>
            {choices.length < searchableFrom ? (
              list
            ) : (
              <Autocomplete filter={contains}>
                <SearchField aria-label={`Search: ${label}`} autoFocus className={styles.search}>
                  <Input placeholder="Search" />
                </SearchField>
                {list}
              </Autocomplete>
            )}
          </Dialog>
        </Popover>
      </DialogTrigger>
      {summary !== undefined && (
        <Button className={styles.clear} aria-label={`Clear filter: ${label}`} onPress={() => onChange([])}>
          <X size={13} aria-hidden />
        </Button>
      )}
    </div>
  );
}

/** `Failed` or `Failed +2`. A selected value without a label still counts. */
function summaryOf(labels: string[], chosen: number): string | undefined {
  if (chosen === 0) return undefined;
  const [first = "1"] = labels;
  return chosen > 1 ? `${first} +${chosen - 1}` : first;
}
