/* Page of an install link: the tool catalog with the filled-in form of a server. Starts nothing. */

import { useNavigate, useSearch } from "@tanstack/react-router";

import { Button } from "@/components/Button";
import { Modal } from "@/components/Modal";

import { AddServerDialog } from "./servers/AddServerDialog";
import { readInstallLink } from "./servers/installLink";
import { ToolCatalog } from "./ToolsPage";

export function InstallPage() {
  const search = useSearch({ from: "/install" });
  const navigate = useNavigate();
  const link = readInstallLink(search);
  const close = () => void navigate({ to: "/tools", search: {}, replace: true });
  return (
    <>
      <ToolCatalog />
      {"problem" in link ? (
        <Modal isOpen onClose={close} title="Nothing to install" footer={<Button onPress={close}>Close</Button>}>
          <p>{link.problem}</p>
        </Modal>
      ) : (
        <AddServerDialog key={JSON.stringify(search)} link={link} onClose={close} />
      )}
    </>
  );
}
