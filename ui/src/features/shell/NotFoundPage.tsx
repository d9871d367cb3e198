/* Unknown address. */

import { Compass } from "lucide-react";

import { ButtonLink } from "@/components/Button";
import { Page } from "@/components/Page";
import { Empty } from "@/components/Placeholders";

export function NotFoundPage() {
  return (
    <Page title="Not found">
      <Empty icon={Compass} title="Page not found" action={<ButtonLink to="/">Go to Home</ButtonLink>}>
        It was deleted, or the link is incomplete.
      </Empty>
    </Page>
  );
}
