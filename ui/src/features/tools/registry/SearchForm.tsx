/* Words of a search, sent when the person presses Search. */

import { Button } from "@/components/Button";
import { TextField } from "@/components/Field";
import { cx } from "@/components/cx";
import { InlineCode } from "@/components/InlineCode";

import styles from "./Registry.module.css";

interface Props {
  label: string;
  query: string;
  onChange: (query: string) => void;
  onSearch: () => void;
  isPending: boolean;
  error: Error | null;
  /** Number of results and their registry; none before a search. */
  result?: string;
}

export function SearchForm({ label, query, onChange, onSearch, isPending, error, result }: Props) {
  return (
    <form
      role="search"
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        if (query.trim() !== "" && !isPending) onSearch();
      }}
    >
      <div className={styles.query}>
        <TextField
          autoFocus
          label={label}
          value={query}
          onChange={onChange}
          error={error?.message}
          autoComplete="off"
          spellCheck="false"
        />
        <Button type="submit" isPending={isPending} isDisabled={query.trim() === ""}>
          Search
        </Button>
      </div>
      <p role="status" className={cx(styles.note, styles.found)}>
        {result !== undefined && <InlineCode text={result} />}
      </p>
    </form>
  );
}
