package opencl

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// absentEnv makes the test binary list the devices and print what is missing.
const absentEnv = "STOWAGE_TEST_LIST_OPENCL"

// TestListInAProcessOfItsOwn is the process that TestMachinesWithoutDevicesAreToldSo starts.
func TestListInAProcessOfItsOwn(t *testing.T) {
	if os.Getenv(absentEnv) == "" {
		t.Skip("only as a process that another test starts")
	}
	d := &driver{}
	infos, err := d.List()
	t.Logf("listed %d; %v", len(infos), err)
	_, again := d.Open("opencl:0")
	t.Logf("opened; %v", again)
}

func TestMachinesWithoutDevicesAreToldSo(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	first(t)
	empty, broken, bad := t.TempDir(), t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(broken, "broken.icd"): "/nowhere/libbroken.so\n", filepath.Join(bad, "libOpenCL.so.1"): "no library",
		filepath.Join(bad, "libOpenCL.so"): "no library", filepath.Join(bad, "garbage.icd"): bad + "/libOpenCL.so\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, env, want string }{
		{"no platform", "OCL_ICD_VENDORS=" + empty, "opencl: platforms: got none"},
		{"a driver that is not there", "OCL_ICD_VENDORS=" + broken, "opencl: platforms: got none"},
		{"a driver that is no library", "OCL_ICD_VENDORS=" + bad, "opencl: platforms: got none"},
		{"no library that can be loaded", "LD_LIBRARY_PATH=" + bad, "opencl: library: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestListInAProcessOfItsOwn$", "-test.v")
			cmd.Env = append(os.Environ(), absentEnv+"=1", c.env)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("got %v, want no failure:\n%s", err, out)
			}
			text := string(out)
			if !strings.Contains(text, "listed 0; "+c.want) || !strings.Contains(text, "opened; "+c.want) {
				t.Errorf("got %q, want both to say %q", text, c.want)
			}
		})
	}
}
