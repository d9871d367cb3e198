/* An address that leads nowhere. */

import { Compass } from "lucide-react";

import { ButtonLink } from "@/components/Button";
import { Page } from "@/components/Page";
import { Empty } from "@/components/States";

export function NotFoundPage() {
  return (
    <Page title="Not found">
      <Empty icon={Compass} title="There is nothing at this address" action={<ButtonLink to="/">Go to Home</ButtonLink>}>
        What was here may have been deleted, or the link was cut short.
      </Empty>
    </Page>
  );
}
