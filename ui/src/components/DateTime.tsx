/* Date-time and time fields. Values are wall-clock strings (`2026-11-22T09:00`, `09:00`); incomplete input is empty. */

import { type CalendarDateTime, parseDateTime, parseTime, type Time as TimeOfDay } from "@internationalized/date";
import { CalendarDays, ChevronLeft, ChevronRight } from "lucide-react";
import {
  Button,
  Calendar,
  CalendarCell,
  CalendarGrid,
  CalendarGridBody,
  CalendarGridHeader,
  CalendarHeaderCell,
  DateInput,
  DatePicker,
  DateSegment,
  Dialog,
  Group,
  Heading,
  Label,
  Popover,
  TimeField as AriaTimeField,
} from "react-aria-components";

import { cx } from "./cx";
import styles from "./DateTime.module.css";
import { type FieldProps, FieldFoot } from "./Field";
import field from "./Field.module.css";

type Props = FieldProps & {
  value: string;
  onChange: (wall: string) => void;
  onBlur?: () => void;
  isDisabled?: boolean;
};

export function DateTimeField({
  label,
  labelHidden,
  help,
  error,
  warning,
  className,
  value,
  onChange,
  onBlur,
  isDisabled,
}: Props) {
  return (
    <DatePicker<CalendarDateTime>
      value={read(value, parseDateTime)}
      onChange={(next) => onChange(next === null ? "" : next.toString().slice(0, 16))}
      onBlur={onBlur}
      isDisabled={isDisabled}
      granularity="minute"
      hourCycle={24}
      shouldForceLeadingZeros
      isInvalid={error !== undefined}
      className={cx(field.field, className)}
    >
      <Label className={labelHidden ? "visually-hidden" : field.label}>{label}</Label>
      <Group className={cx(field.input, styles.group)}>
        <Segments />
        <Button className={styles.open}>
          <CalendarDays size={15} aria-hidden />
        </Button>
      </Group>
      <FieldFoot help={help} error={error} warning={warning} />
      <Popover className={styles.popover} offset={4}>
        <Dialog className={styles.dialog}>
          <Month />
        </Dialog>
      </Popover>
    </DatePicker>
  );
}

export function TimeField({
  label,
  labelHidden,
  help,
  error,
  warning,
  className,
  value,
  onChange,
  onBlur,
  isDisabled,
}: Props) {
  return (
    <AriaTimeField<TimeOfDay>
      hourCycle={24}
      shouldForceLeadingZeros
      value={read(value, parseTime)}
      onChange={(next) => onChange(next === null ? "" : next.toString().slice(0, 5))}
      onBlur={onBlur}
      isDisabled={isDisabled}
      isInvalid={error !== undefined}
      className={cx(field.field, className)}
    >
      <Label className={labelHidden ? "visually-hidden" : field.label}>{label}</Label>
      <Group className={cx(field.input, styles.group)}>
        <Segments />
      </Group>
      <FieldFoot help={help} error={error} warning={warning} />
    </AriaTimeField>
  );
}

function Segments() {
  return (
    <DateInput className={styles.segments}>
      {(segment) => <DateSegment segment={segment} className={styles.segment} />}
    </DateInput>
  );
}

function Month() {
  return (
    <Calendar>
      <header className={styles.head}>
        <Button slot="previous" className={styles.turn}>
          <ChevronLeft size={16} aria-hidden />
        </Button>
        <Heading className={styles.month} />
        <Button slot="next" className={styles.turn}>
          <ChevronRight size={16} aria-hidden />
        </Button>
      </header>
      <CalendarGrid className={styles.grid}>
        <CalendarGridHeader>
          {(day) => <CalendarHeaderCell className={styles.weekday}>{day}</CalendarHeaderCell>}
        </CalendarGridHeader>
        <CalendarGridBody>{(date) => <CalendarCell date={date} className={styles.day} />}</CalendarGridBody>
      </CalendarGrid>
    </Calendar>
  );
}

/** Returns null for unparsable text. */
function read<T>(text: string, parse: (text: string) => T): T | null {
  try {
    return text === "" ? null : parse(text);
  } catch {
    return null;
  }
}
