/* Empty job list: explanation and templates. */

import { Link } from "@tanstack/react-router";
import { AlarmClock, Bell, Globe, type LucideIcon, Sunrise } from "lucide-react";

import { Empty } from "@/components/Placeholders";

import styles from "./JobsPage.module.css";
import { type TemplateId, templateIds, templates } from "@/features/jobs/templates";

const icons: Record<TemplateId, LucideIcon> = { reminder: Bell, page: Globe, brief: Sunrise };

export function EmptyJobs() {
  return (
    <>
      <Empty icon={AlarmClock} title="No jobs yet">
        A job reminds you, calls a tool, or gives an agent a task, on a schedule or on an event. Each run and its result
        are kept in the history.
      </Empty>
      <ul className={styles.templates} aria-label="Job templates">
        {templateIds.map((id) => (
          <TemplateCard key={id} id={id} icon={icons[id]} />
        ))}
      </ul>
    </>
  );
}

function TemplateCard({ id, icon: Icon }: { id: TemplateId; icon: LucideIcon }) {
  const { title, about } = templates[id];
  return (
    <li>
      <Link to="/jobs/new" search={{ template: id }} className={styles.template}>
        <Icon size={18} aria-hidden />
        <h3>{title}</h3>
        <p className={styles.about}>{about}</p>
      </Link>
    </li>
  );
}
