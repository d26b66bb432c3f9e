import { Modal } from "antd";
import { useText } from "../text/define-text.ts";
import { editorText } from "../text/editor-text.ts";
import { shellText } from "../text/shell-text.ts";
import { useNavigation } from "./navigation.ts";

export function KeyHelp({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }) {
  const text = useText(shellText);
  const words = useText(editorText);
  const groups = useNavigation();
  const rows: readonly (readonly [readonly string[], string])[] = [
    [["/", "Ctrl K"], text.keySearch],
    [["?"], text.keyHelp],
    ...groups.flat().flatMap(({ key, name }) => {
      return key === undefined ? [] : [[[`g ${key}`], text.goTo(text[name])] as const];
    }),
    [["j", "k"], text.keyRows],
    [["Enter"], text.keyOpen],
    [["x"], text.keySelect],
    [["[", "]"], text.keyTabs],
    [["←", "→"], text.keyTurn],
    [["0"], text.keyFit],
    [["n"], text.keyFailed],
    [["a"], words.keyAdd],
    [["c"], words.keyConnect],
    [["Delete"], words.keyDelete],
    [["Ctrl Z", "Ctrl Y"], words.keyUndo],
    [["Ctrl S"], words.keySave],
  ];
  return (
    <Modal open={isOpen} onCancel={onClose} footer={null} title={text.keys} width={480}>
      <table className="key-table">
        <tbody>
          {rows.map(([keys, what]) => (
            <tr key={what}>
              <td>
                {keys.map((key) => (
                  <kbd key={key}>{key}</kbd>
                ))}
              </td>
              <td>{what}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Modal>
  );
}
