/* What stands where no job is yet: what a job is, and three to begin with. */

import { Link } from "@tanstack/react-router";
import { AlarmClock, Bell, Globe, type LucideIcon, Sunrise } from "lucide-react";

import { Empty } from "@/components/States";

import styles from "./JobsPage.module.css";
import { type TemplateId, templateIds, templates } from "./templates";

const icons: Record<TemplateId, LucideIcon> = { reminder: Bell, page: Globe, brief: Sunrise };

export function Teach() {
  return (
    <>
      <Empty icon={AlarmClock} title="No jobs yet">
        A job says when Rouse wakes up and what it does then: remind you, call a tool, or give a task to a model. Each time it fires, a run keeps what
        came of it.
      </Empty>
      <ul className={styles.templates} aria-label="Begin with one of these">
        {templateIds.map((id) => (
          <Card key={id} id={id} icon={icons[id]} />
        ))}
      </ul>
    </>
  );
}

function Card({ id, icon: Icon }: { id: TemplateId; icon: LucideIcon }) {
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
